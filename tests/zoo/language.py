"""Architectures of Hugging Face's transformers in small random configurations: batch and length left open."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import transformers as hf
from cases import Call, Case
from torch import Tensor, nn
from torch.export import Dim

WORDS, WIDTH, LONGEST = 97, 32, 64
BATCH = {0: Dim.DYNAMIC}
BATCH_AND_LENGTH = {0: Dim.DYNAMIC, 1: Dim.DYNAMIC}

SIZES: dict[str, Any] = {
    "vocab_size": WORDS,
    "hidden_size": WIDTH,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": LONGEST,
}
DECODER: dict[str, Any] = {**SIZES, "num_key_value_heads": 2, "use_cache": False}
BOTH: dict[str, Any] = {
    "vocab_size": WORDS,
    "d_model": WIDTH,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "use_cache": False,
}
PATCHES: dict[str, Any] = {
    "image_size": 32,
    "patch_size": 8,
    "hidden_size": WIDTH,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
}
STAGES: dict[str, Any] = {"hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 1, 1]}


def tokens(batch: int, length: int) -> Tensor:
    return torch.randint(3, WORDS, (batch, length))


def text(batch: int, length: int) -> dict[str, Tensor]:
    """The first of the batch is padded on the right."""
    mask = torch.ones(batch, length, dtype=torch.long)
    mask[0, length // 2 :] = 0
    return {"input_ids": tokens(batch, length), "attention_mask": mask}


def two_texts(batch: int, length: int) -> dict[str, Tensor]:
    return {**text(batch, length), "decoder_input_ids": tokens(batch, length + 1)}


def images(side: int) -> Callable[[int, int], dict[str, Tensor]]:
    return lambda batch, length: {"pixel_values": torch.randn(batch, 3, side, side)}


def text_and_images(batch: int, length: int) -> dict[str, Tensor]:
    return {**text(batch, length), **images(32)(batch, length)}


def spectrogram(batch: int, length: int) -> dict[str, Tensor]:
    return {"input_features": torch.randn(batch, 16, 64), "decoder_input_ids": tokens(batch, length)}


def sound(batch: int, length: int) -> dict[str, Tensor]:
    return {"input_values": torch.randn(batch, 100 * length)}


OPEN = {
    "input_ids": BATCH_AND_LENGTH,
    "attention_mask": BATCH_AND_LENGTH,
    "decoder_input_ids": BATCH_AND_LENGTH,
    "input_values": BATCH_AND_LENGTH,
    "pixel_values": BATCH,
    "input_features": BATCH,
}

Inputs = Callable[[int, int], dict[str, Tensor]]
ARCHITECTURES: dict[str, tuple[Callable[[], nn.Module], Inputs]] = {
    "bert": (lambda: hf.BertForSequenceClassification(hf.BertConfig(**SIZES)), text),
    "distilbert": (
        lambda: hf.DistilBertModel(
            hf.DistilBertConfig(vocab_size=WORDS, dim=WIDTH, n_layers=2, n_heads=4, hidden_dim=64, max_position_embeddings=LONGEST)
        ),
        text,
    ),
    "roberta": (lambda: hf.RobertaForTokenClassification(hf.RobertaConfig(**SIZES)), text),
    "albert": (lambda: hf.AlbertModel(hf.AlbertConfig(embedding_size=16, **SIZES)), text),
    "electra": (lambda: hf.ElectraModel(hf.ElectraConfig(embedding_size=16, **SIZES)), text),
    "deberta_v2": (
        lambda: hf.DebertaV2Model(hf.DebertaV2Config(relative_attention=True, pos_att_type=["c2p", "p2c"], position_buckets=8, **SIZES)),
        text,
    ),
    "gpt2": (
        lambda: hf.GPT2LMHeadModel(
            hf.GPT2Config(vocab_size=WORDS, n_embd=WIDTH, n_layer=2, n_head=4, n_positions=LONGEST, use_cache=False)
        ),
        text,
    ),
    "llama": (lambda: hf.LlamaForCausalLM(hf.LlamaConfig(**DECODER)), text),
    "mistral": (lambda: hf.MistralForCausalLM(hf.MistralConfig(sliding_window=8, **DECODER)), text),
    "mixtral": (lambda: hf.MixtralForCausalLM(hf.MixtralConfig(num_local_experts=4, **DECODER)), text),
    "qwen2": (lambda: hf.Qwen2ForCausalLM(hf.Qwen2Config(**DECODER)), text),
    "gemma": (lambda: hf.GemmaForCausalLM(hf.GemmaConfig(head_dim=8, **DECODER)), text),
    "opt": (
        lambda: hf.OPTForCausalLM(
            hf.OPTConfig(
                vocab_size=WORDS,
                hidden_size=WIDTH,
                num_hidden_layers=2,
                num_attention_heads=4,
                ffn_dim=64,
                max_position_embeddings=LONGEST,
                word_embed_proj_dim=WIDTH,
                use_cache=False,
            )
        ),
        text,
    ),
    "t5": (
        lambda: hf.T5Model(hf.T5Config(vocab_size=WORDS, d_model=WIDTH, d_kv=8, d_ff=64, num_layers=2, num_heads=4, use_cache=False)),
        two_texts,
    ),
    "bart": (lambda: hf.BartModel(hf.BartConfig(max_position_embeddings=LONGEST, **BOTH)), two_texts),
    "vit": (lambda: hf.ViTForImageClassification(hf.ViTConfig(**PATCHES)), images(32)),
    "swin": (
        lambda: hf.SwinModel(hf.SwinConfig(image_size=32, patch_size=4, embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=4)),
        images(32),
    ),
    "convnext": (lambda: hf.ConvNextModel(hf.ConvNextConfig(**STAGES)), images(64)),
    "segformer": (lambda: hf.SegformerForSemanticSegmentation(hf.SegformerConfig(decoder_hidden_size=16, **STAGES)), images(64)),
    "clip": (
        lambda: hf.CLIPModel(
            hf.CLIPConfig(text_config={**SIZES, "projection_dim": 16}, vision_config={**PATCHES, "projection_dim": 16}, projection_dim=16)
        ),
        text_and_images,
    ),
    "whisper": (
        lambda: hf.WhisperModel(
            hf.WhisperConfig(
                num_mel_bins=16,
                max_source_positions=32,
                max_target_positions=32,
                pad_token_id=0,
                bos_token_id=1,
                eos_token_id=2,
                decoder_start_token_id=1,
                **BOTH,
            )
        ),
        spectrogram,
    ),
    "wav2vec2": (
        lambda: hf.Wav2Vec2Model(
            hf.Wav2Vec2Config(
                **{key: size for key, size in SIZES.items() if key != "max_position_embeddings"},
                conv_dim=(16, 16),
                conv_kernel=(10, 3),
                conv_stride=(5, 2),
                num_conv_pos_embeddings=8,
                num_conv_pos_embedding_groups=2,
                mask_time_prob=0.0,
                mask_feature_prob=0.0,
            )
        ),
        sound,
    ),
}


def case(name: str) -> Case:
    make, inputs = ARCHITECTURES[name]

    def calls() -> list[Call]:
        return [Call(kwargs=inputs(batch, length)) for batch, length in ((2, 11), (3, 6), (2, 17))]

    return Case(f"language/{name}", make, calls, {key: OPEN[key] for key in inputs(2, 4)}, must_export=False)


LANGUAGE = [case(name) for name in ARCHITECTURES]
