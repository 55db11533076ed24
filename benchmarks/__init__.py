"""How fast is it? One module a question; ``python -m benchmarks.NAME`` prints one, ``make bench`` all."""
