"""Benchmarks: each file gives `figures()`; `./dev bench` prints them beside their limits."""
