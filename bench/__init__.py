"""Benchmarks: the papers' figures and ours, and peers' speed, side by side. ``python -m bench NAME [--quick]``."""

BENCHES = {
    "probe": "bench.papers.probe",
    "hidden-units": "bench.papers.hidden_units",
    "embedded": "bench.papers.embedded",
    "planted": "bench.papers.planted",
    "xor": "bench.papers.xor",
    "scaling": "bench.papers.scaling",
    "ofw": "bench.papers.ofw",
    "infinite": "bench.papers.infinite",
    "spectral": "bench.papers.spectral",
    "agnos": "bench.papers.agnos",
    "dimension": "bench.papers.dimension",
    "gram-schmidt-speed": "bench.speed.gram_schmidt",
    "rfe-speed": "bench.speed.rfe",
    "sparse-speed": "bench.speed.sparse",
    "ofw-speed": "bench.speed.ofw",
    "infinite-speed": "bench.speed.infinite",
    "infinite-gpu": "bench.speed.infinite_gpu",
    "spectral-speed": "bench.speed.spectral",
    "agnos-speed": "bench.speed.agnos",
    "fit-speed": "bench.speed.fit",
}
