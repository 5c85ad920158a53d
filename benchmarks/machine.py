"""The machine that the benchmarks were run on, and what was installed."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PEERS = "bm25s chromadb langchain-core langgraph llama-index-core numpy openai scikit-learn torch"


def describe() -> dict[str, str]:
    """Processor, memory, system and versions, by name."""
    return {
        "Processor": f"{_processor()}, {os.cpu_count()} cores",
        "Memory": f"{_memory_gb():.0f} GB",
        "System": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "Packages": ", ".join(f"{name} {_version(name)}" for name in PEERS.split()),
    }


def load() -> float:
    """How many processes wanted a processor during the last minute."""
    return os.getloadavg()[0]


def _processor() -> str:
    told = Path("/proc/cpuinfo")
    lines = told.read_text().splitlines() if told.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"


def _memory_gb() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "(not installed)"
