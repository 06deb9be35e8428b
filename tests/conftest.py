from hypothesis import HealthCheck, settings

# The same examples in every run and on every machine, however slow or busy it is; the first
# example may compile.
settings.register_profile(
    "fastad",
    derandomize=True,
    deadline=None,
    database=None,
    max_examples=80,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("fastad")
