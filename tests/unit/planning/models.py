"""Configurations of mixed architectures, as their checkpoints write them, cut to the fields that matter."""

from typing import Any

Json = dict[str, Any]


def gated_delta_net(**changes: Any) -> Json:
    """A multimodal hybrid: 16 of 64 layers with attention, 48 gated delta nets with float32 states, one MTP layer."""
    text = {
        "model_type": "qwen3_5_text",
        "hidden_size": 5120,
        "intermediate_size": 17408,
        "num_hidden_layers": 64,
        "num_attention_heads": 24,
        "num_key_value_heads": 4,
        "head_dim": 256,
        "vocab_size": 248320,
        "attn_output_gate": True,
        "full_attention_interval": 4,
        "layer_types": (["linear_attention"] * 3 + ["full_attention"]) * 16,
        "linear_num_key_heads": 16,
        "linear_num_value_heads": 48,
        "linear_key_head_dim": 128,
        "linear_value_head_dim": 128,
        "linear_conv_kernel_dim": 4,
        "mamba_ssm_dtype": "float32",
        "max_position_embeddings": 262144,
        "mtp_num_hidden_layers": 1,
    }
    tower = {"depth": 27, "hidden_size": 1152, "intermediate_size": 4304, "num_heads": 16, "spatial_merge_size": 2}
    return {
        "architectures": ["Qwen3_5ForConditionalGeneration"],
        "model_type": "qwen3_5",
        "text_config": text | changes,
        "vision_config": tower,
        "tie_word_embeddings": False,
    }


def mamba_experts() -> Json:
    """A hybrid whose mixers and experts are layers of their own: 6 attention, 23 Mamba2, 23 expert layers."""
    return {
        "architectures": ["NemotronHForCausalLM"],
        "model_type": "nemotron_h",
        "hybrid_override_pattern": "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME",
        "num_hidden_layers": 52,
        "num_attention_heads": 32,
        "num_key_value_heads": 2,
        "head_dim": 128,
        "hidden_size": 2688,
        "intermediate_size": 1856,
        "moe_intermediate_size": 1856,
        "moe_shared_expert_intermediate_size": 3712,
        "n_routed_experts": 128,
        "num_experts_per_tok": 6,
        "vocab_size": 131072,
        "mamba_num_heads": 64,
        "mamba_head_dim": 64,
        "ssm_state_size": 128,
        "n_groups": 8,
        "conv_kernel": 4,
        "mamba_ssm_cache_dtype": "float32",
        "mlp_hidden_act": "relu2",
        "max_position_embeddings": 262144,
    }


def two_geometries() -> Json:
    """50 sliding layers of 16 KV heads x 256 and 10 global ones of 4 x 512."""
    return {
        "architectures": ["Gemma4ForConditionalGeneration"],
        "model_type": "gemma4",
        "text_config": {
            "model_type": "gemma4_text",
            "layer_types": (["sliding_attention"] * 5 + ["full_attention"]) * 10,
            "num_hidden_layers": 60,
            "num_attention_heads": 32,
            "num_key_value_heads": 16,
            "num_global_key_value_heads": 4,
            "head_dim": 256,
            "global_head_dim": 512,
            "attention_k_eq_v": True,
            "sliding_window": 1024,
            "hidden_size": 5376,
            "intermediate_size": 21504,
            "vocab_size": 262144,
            "max_position_embeddings": 262144,
            "num_kv_shared_layers": 0,
        },
    }


def alternating(layers: int = 24) -> Json:
    """Every other layer sees 128 tokens; experts in MXFP4."""
    return {
        "architectures": ["GptOssForCausalLM"],
        "model_type": "gpt_oss",
        "num_hidden_layers": layers,
        "num_attention_heads": 64,
        "num_key_value_heads": 8,
        "head_dim": 64,
        "hidden_size": 2880,
        "intermediate_size": 2880,
        "vocab_size": 201088,
        "num_local_experts": 128 if layers == 36 else 32,
        "num_experts_per_tok": 4,
        "sliding_window": 128,
        "max_position_embeddings": 131072,
        "tie_word_embeddings": False,
        "quantization_config": {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn"]},
    }


def latent(**changes: Any) -> Json:
    """Latent attention with experts and one MTP layer, in block FP8."""
    return {
        "architectures": ["DeepseekV3ForCausalLM"],
        "model_type": "deepseek_v3",
        "num_hidden_layers": 61,
        "num_attention_heads": 128,
        "num_key_value_heads": 128,
        "hidden_size": 7168,
        "intermediate_size": 18432,
        "moe_intermediate_size": 2048,
        "n_routed_experts": 256,
        "n_shared_experts": 1,
        "num_experts_per_tok": 8,
        "first_k_dense_replace": 3,
        "num_nextn_predict_layers": 1,
        "kv_lora_rank": 512,
        "q_lora_rank": 1536,
        "qk_nope_head_dim": 128,
        "qk_rope_head_dim": 64,
        "v_head_dim": 128,
        "vocab_size": 129280,
        "max_position_embeddings": 163840,
        "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]},
        **changes,
    }


def sparse_latent(**changes: Any) -> Json:
    """78 layers of sparse latent attention with an indexer in each."""
    return latent(
        architectures=["GlmMoeDsaForCausalLM"],
        model_type="glm_moe_dsa",
        num_hidden_layers=78,
        num_attention_heads=64,
        hidden_size=6144,
        index_topk=2048,
        index_head_dim=128,
        **changes,
    )


def kimi_delta() -> Json:
    """20 KDA layers beside 7 of latent attention."""
    full = [4, 8, 12, 16, 20, 24, 27]
    return {
        "architectures": ["KimiLinearForCausalLM"],
        "model_type": "kimi_linear",
        "num_hidden_layers": 27,
        "num_attention_heads": 32,
        "num_key_value_heads": 32,
        "hidden_size": 2304,
        "intermediate_size": 9216,
        "vocab_size": 163840,
        "kv_lora_rank": 512,
        "qk_rope_head_dim": 64,
        "linear_attn_config": {
            "num_heads": 32,
            "head_dim": 128,
            "short_conv_kernel_size": 4,
            "kda_layers": [number for number in range(1, 28) if number not in full],
            "full_attn_layers": full,
        },
        "max_position_embeddings": 1048576,
    }
