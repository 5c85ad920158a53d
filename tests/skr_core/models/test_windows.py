"""Names of models as servers spell them, and the windows behind them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skr_core.models.windows import context_window, reference_tokens_for


@pytest.mark.parametrize(
    ("name", "window"),
    [
        ("gpt-4.1", 1_047_576),
        ("gpt-4.1-mini-2025-04-14", 1_047_576),
        ("gpt-4o", 128_000),
        ("GPT-4o-mini", 128_000),
        ("ft:gpt-4o-mini-2024-07-18:org::id", 128_000),
        ("gpt-4-turbo-preview", 128_000),
        ("gpt-4-1106-preview", 128_000),
        ("gpt-4", 8_192),
        ("gpt-4-0613", 8_192),
        ("gpt-3.5-turbo", 16_385),
        ("gpt-35-turbo", 16_385),
        ("gpt-5-nano", 272_000),
        ("gpt-5.1", 272_000),
        ("gpt-5-chat-latest", 128_000),
        ("o1-mini", 128_000),
        ("o3", 200_000),
        ("o4-mini", 200_000),
        ("claude-sonnet-4-5", 200_000),
        ("us.anthropic.claude-3-5-sonnet-20240620-v1:0", 200_000),
        ("claude-2", 100_000),
        ("claude-2.1", 200_000),
        ("models/gemini-2.5-flash", 1_048_576),
        ("gemini-2.5-flash-image", 32_768),
        ("gemini-1.5-pro", 1_048_576),
        ("meta-llama/Llama-3.1-8B-Instruct", 131_072),
        ("meta-llama/Meta-Llama-3.1-8B-Instruct", 131_072),
        ("accounts/fireworks/models/llama-v3p1-70b-instruct", 131_072),
        ("meta.llama3-1-70b-instruct-v1:0", 131_072),
        ("llama3.2:3b", 131_072),
        ("meta-llama/Meta-Llama-3-8B", 8_192),
        ("llama3:8b", 8_192),
        ("llama3-8b-8192", 8_192),
        ("Qwen/Qwen2.5-7B-Instruct", 32_768),
        ("qwen3:8b", 32_768),
        ("mistral", 32_768),
        ("mistralai/Mistral-7B-Instruct-v0.3", 32_768),
        ("mistral-large-latest", 128_000),
        ("mixtral-8x22b-instruct", 65_536),
        ("deepseek-chat", 65_536),
        ("deepseek-ai/DeepSeek-V3", 65_536),
        ("google/gemma-3-27b-it", 131_072),
        ("gemma3:1b", 32_768),
        ("extractive", None),
        ("my-deployment", None),
        ("foo3", None),
        ("qwen-max", None),
        ("deepseek-r1-distill-llama-8b", None),
        ("", None),
    ],
)
def test_windows(name: str, window: int | None):
    assert context_window(name) == window
    tokens = reference_tokens_for(name)
    assert (tokens is None) is (window is None)
    assert window is None or tokens is None or window / 2 < tokens < window


@given(st.text())
def test_any_name_may_be_asked(name: str):
    assert context_window(name) is None or context_window(name) > 4_000  # type: ignore[operator]
