"""The model families whose layers are known here: the beginnings of their model types or class names.

Outside of these the fields of `config.json` are read all the same, but the bill is marked as estimated: a new family
may keep something that no known field speaks of.
"""

from inference_fleet.catalog.model_config import Config

_NAMES = """
apertus arcee arctic aria aya baichuan bailing bamba bert bloom chameleon chatglm codeshell cohere command dbrx deepseek
dots ernie exaone falcon fuyu gemma glm gpt2 gptbigcode gptj gptneox gptoss granite gritlm h2ovl hunyuan idefics intern
jais jamba kimi lfm2 llama llava longcat mamba mimo minicpm minimax ministral mistral mixtral mllama molmo mpt nemotron
nvlm olmo opt orion ovis paligemma persimmon phi pixtral qwen roberta seed smollm smolvlm solar stablelm starcoder step
t5gemma teleflm ultravox voxtral whisper xverse yi zamba
"""
KNOWN = tuple(_NAMES.split())


def known_family(cfg: Config) -> bool:
    """Whether the model's type or class begins as a known family's."""
    names = (cfg.family, "".join(filter(str.isalnum, cfg.architecture.lower())))
    return any(name.startswith(KNOWN) for name in names)
