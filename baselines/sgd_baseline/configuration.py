"""The model's configuration: its encoder's, and nothing else. Imports nothing of the project."""

from __future__ import annotations

from typing import Any

from transformers import AutoConfig, BertConfig, PretrainedConfig


class SgdBaselineConfig(PretrainedConfig):
    """Configuration of ``SgdBaselineModel``.

    encoder: The configuration of the encoder, or what its ``to_dict`` gives; BERT-Base by default.
    """

    model_type = "sgd_baseline"
    sub_configs = {"encoder": AutoConfig}  # noqa: RUF012  # transformers' own way to say it

    def __init__(self, encoder: PretrainedConfig | dict[str, Any] | None = None, **kwargs: Any):
        if isinstance(encoder, dict):
            encoder = AutoConfig.for_model(**encoder)
        self.encoder = encoder or BertConfig()
        self.initializer_range = getattr(self.encoder, "initializer_range", 0.02)  # of the heads
        super().__init__(**kwargs)


SgdBaselineConfig.register_for_auto_class()  # type: ignore[no-untyped-call]
