"""`make demo`: two models on a real control plane with simulated GPUs, told as a story of a few minutes.

`models` makes what lies in the store, `fleet` looks at what runs, `loss` and `watch` follow a lost node, `show` draws,
`local` and `kind` bring the stage up, `story` puts the steps in order.
"""
