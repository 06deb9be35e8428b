"""The processor that a measurement ran on, as the system and NumPy tell."""

import platform
from pathlib import Path
from typing import Any

import numpy as np


def processor() -> dict[str, Any]:
    """Return name, design, family and model, sizes of the caches of a core, and AVX-512 or not.

    Clouds mask the name; the family tells the design. What the system does not tell is left out.
    """
    told = _cpuinfo()
    facts: dict[str, Any] = {"name": told.get("model name") or platform.machine()}
    avx512 = bool(avx512_features())
    if told.get("vendor_id") == "AuthenticAMD":
        designs = {25: "Zen 4" if avx512 else "Zen 3", 26: "Zen 5"}
        facts["design"] = designs.get(int(told["cpu family"]))
    facts |= {
        name: int(told[key])
        for name, key in (("family", "cpu family"), ("model", "model"))
        if told.get(key, "").isdigit()
    }
    return {**facts, "caches": _caches(), "avx512": avx512}


def describe(facts: dict[str, Any]) -> str:
    """Return all of that in a line."""
    numbers = [f"{key} {facts[key]}" for key in ("family", "model") if key in facts]
    details = [
        *([facts["design"]] if facts.get("design") else []),
        *numbers,
        *([f"caches of {', '.join(facts['caches'])}"] if facts.get("caches") else []),
        "AVX-512" if facts["avx512"] else "no AVX-512",
    ]
    return f"{facts['name']} ({'; '.join(details)})"


def avx512_features() -> list[str]:
    """Return the names by which NumPy can be told to leave AVX-512 alone; none without it."""
    config: Any = np.show_config(mode="dicts")
    found = config.get("SIMD Extensions", {}).get("found", [])
    return [name for name in found if name.startswith("AVX512") or name == "X86_V4"]


def _cpuinfo() -> dict[str, str]:
    """Return what Linux tells of the first core."""
    path = Path("/proc/cpuinfo")
    text = path.read_text("utf-8").partition("\n\n")[0] if path.exists() else ""
    pairs = (line.partition(":") for line in text.splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs}


def _caches() -> list[str]:
    """Return sizes of the caches of data, from the first level on."""
    folders = sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"))
    sizes = [
        int((folder / "size").read_text("utf-8").strip().removesuffix("K"))
        for folder in folders
        if (folder / "type").read_text("utf-8").strip() != "Instruction"
    ]
    return [f"{size} kB" if size < 1024 else f"{size // 1024} MB" for size in sizes]
