"""Logits and greedy tokens of transformers' BitNetForCausalLM for models of `random_model.ts`.

The argument is JSON: a list of models, each with a prompt, the number of tokens to
generate, and the number of positions whose logits are wanted. The output has a line for each model.
"""

import json
import math
import os
import sys

os.environ["TORCHDYNAMO_DISABLE"] = "1"
import torch
from transformers import BitNetConfig, BitNetForCausalLM
from transformers.integrations.bitnet import AutoBitLinear, BitLinear, pack_weights

torch.set_num_threads(1)

NORMS = {
    "input_layernorm": 0,
    "self_attn.attn_sub_norm": 1,
    "post_attention_layernorm": 2,
    "mlp.ffn_sub_norm": 3,
}
LINEARS = {
    "self_attn.q_proj": 4,
    "self_attn.k_proj": 5,
    "self_attn.v_proj": 6,
    "self_attn.o_proj": 7,
    "mlp.gate_proj": 8,
    "mlp.up_proj": 9,
    "mlp.down_proj": 10,
}


def random_bytes(index, shape):
    state, values = index + 1, []
    for _ in range(math.prod(shape)):
        state = (state * 1664525 + 1013904223) % 2**32
        values.append(state >> 24)
    return torch.tensor(values, dtype=torch.float32).reshape(shape)


def centred(index, shape):
    return (random_bytes(index, shape) - 127.5) / 1024


def linear(linear_class, index, rows, columns):
    """A linear layer of the class, with the weights that a file has for it."""
    shape = [rows, columns]
    if linear_class == "online":
        layer = AutoBitLinear(columns, rows, bias=False, online_quant=True)
        layer.weight.data = centred(index, shape)
        return layer
    codes = random_bytes(index, shape) % 3 - 1
    scale = torch.tensor([(2 + index % 3) / math.sqrt(columns)])
    if linear_class == "autobitlinear":
        layer = AutoBitLinear(columns, rows, bias=False)
        layer.weight.data, layer.weight_scale = codes, scale
        return layer
    layer = BitLinear(columns, rows, False, dtype=torch.float32)
    layer.weight, layer.weight_scale = pack_weights(codes.to(torch.int8)), 1 / scale
    return layer


def build(config, linear_class):
    """A model with the weights of its file."""
    own = BitNetForCausalLM(
        BitNetConfig(
            vocab_size=config["vocabularySize"],
            hidden_size=config["hiddenSize"],
            intermediate_size=config["feedForwardSize"],
            num_hidden_layers=config["layers"],
            num_attention_heads=config["heads"],
            num_key_value_heads=config["keyValueHeads"],
            head_dim=config["headSize"],
            hidden_act="relu2" if config["activation"] == "squaredRelu" else "silu",
            max_position_embeddings=config["contextLength"],
            rms_norm_eps=config["epsilon"],
            rope_parameters={"rope_type": "default", "rope_theta": config["ropeTheta"]},
            tie_word_embeddings=config["isHeadTied"],
            bos_token_id=None,
            eos_token_id=None,
            attn_implementation="eager",
        )
    ).float().eval()
    table = [config["vocabularySize"], config["hiddenSize"]]
    own.model.embed_tokens.weight.data = centred(0, table)
    own.model.norm.weight.data = 0.5 + random_bytes(1, table[1:]) / 256
    own.lm_head.weight.data = (
        own.model.embed_tokens.weight.data if config["isHeadTied"] else centred(2, table)
    )
    first = 2 if config["isHeadTied"] else 3
    for number, layer in enumerate(own.model.layers):
        start = first + number * (len(NORMS) + len(LINEARS))
        for name, at in NORMS.items():
            if name.endswith("sub_norm") and not config["hasSubNorms"]:
                layer.set_submodule(name, torch.nn.Identity())
                continue
            norm = layer.get_submodule(name)
            norm.weight.data = 0.5 + random_bytes(start + at, norm.weight.shape) / 256
        for name, at in LINEARS.items():
            rows, columns = layer.get_submodule(name).weight.shape
            layer.set_submodule(name, linear(linear_class, start + at, rows, columns))
    return own


def run(model, prompt, count, positions):
    """The generated tokens, the logits of the first positions, and how far each token leads the next best."""
    own = build(model["config"], model["linearClass"])
    tokens, rows, cache = list(prompt), [], None
    with torch.no_grad():
        coming = tokens
        for _ in range(count):
            result = own(torch.tensor([coming]), past_key_values=cache, use_cache=True)
            cache = result.past_key_values
            rows.append(result.logits[0])
            coming = [int(result.logits[0, -1].argmax())]
            tokens += coming
    logits = torch.cat(rows)
    best = logits[len(prompt) - 1 :].topk(2).values
    leads = best[:, 0] - best[:, 1]
    return {
        "tokens": tokens[len(prompt) :],
        "logits": [[round(x, 6) for x in row] for row in logits[:positions].tolist()],
        "leads": [round(x, 6) for x in leads.tolist()],
    }


for given in json.loads(sys.argv[1]):
    print(json.dumps(run(**given)))
