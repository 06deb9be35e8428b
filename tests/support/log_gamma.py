"""The logarithm of the gamma function in 25 digits: an oracle where floats lose theirs."""

from decimal import Decimal, localcontext

PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459")
# Bernoulli's numbers B2, B4, ... as pairs.
BERNOULLI = ((1, 6), (-1, 30), (1, 42), (-1, 30), (5, 66), (-691, 2730))
LARGE = 100


def log_gamma(x: Decimal) -> Decimal:
    """Stirling's series at a large argument, to which the functional equation leads."""
    shift = Decimal(0)
    while x < LARGE:
        shift += x.ln()
        x += 1
    value = (x - Decimal("0.5")) * x.ln() - x + (2 * PI).ln() / 2
    for i, (p, q) in enumerate(BERNOULLI, 1):
        value += Decimal(p) / q / (2 * i * (2 * i - 1) * x ** (2 * i - 1))
    return value - shift


def log_mixture(k: int, n: int, rate: float) -> float:
    """log(B(k + 1/2, n - k + 1/2) / B(1/2, 1/2) / (p^k (1 - p)^(n - k))), p as it is in binary."""
    with localcontext() as context:
        context.prec = 50
        half, p = Decimal("0.5"), Decimal(rate)
        value = log_gamma(k + half) + log_gamma(n - k + half) - log_gamma(Decimal(n + 1)) - PI.ln()
        value -= k * p.ln() if k else 0
        value -= (n - k) * (1 - p).ln() if n > k else 0
        return float(value)
