"""How long batches take, about: to say at the start how long a study will take.

The numbers were fitted to the times of one split of each of 147 problems, on one core, and of
goix's protocol on their data sets; of nineteen batches in twenty they are within a factor of two.
"""

from fastad.study.batches import AnyBatch, Batch, GoixBatch
from fastad.study.sharing import MACHINES, NEIGHBOURS, group_of
from fastad.study.tasks import Settings

# Seconds a scored point; a point and training row; and also a feature.
_NEIGHBOURS = (2.4e-6, 2.6e-9, 9e-11)
# Seconds a machine, point and training row; a point, row and feature; a machine and pair of rows.
_MACHINES = (4.1e-10, 2e-10, 1.6e-8)
# Seconds of any other detector: those of a forest of 100 trees, at once and a point.
_OTHER = (0.02, 1.3e-6)
# Seconds a draw of features of goix's protocol, and a draw and uniform point.
_DRAW = (0.3, 1e-5)


def seconds_of(batch: AnyBatch, settings: Settings) -> float:
    """Return how many seconds a batch takes on one core, about."""
    if isinstance(batch, GoixBatch):
        return _of_goix(batch)
    return _of_tasks(batch, settings)


def _of_tasks(batch: Batch, settings: Settings) -> float:
    problem, protocol = batch.problem, settings.protocol
    n_train = float(protocol.train_share) * problem.n_normals
    n_test = problem.n_normals - n_train + problem.n_anomalies
    if protocol.max_train is not None:
        n_train = min(n_train, protocol.max_train)
    if protocol.max_test is not None:
        n_test = min(n_test, 2 * protocol.max_test)
    points = settings.volumes.n_draws + n_test
    pairs = points * n_train
    group = group_of(batch.configurations[0])
    if group == NEIGHBOURS:
        a, b, c = _NEIGHBOURS
        return a * points + b * pairs + c * pairs * problem.n_features
    if group == MACHINES:
        a, b, c = _MACHINES
        n_machines = len(batch.configurations)
        each = a * pairs + c * n_train**2
        return n_machines * each + b * pairs * problem.n_features
    return _OTHER[0] + _OTHER[1] * points


def _of_goix(batch: GoixBatch) -> float:
    protocol = batch.protocol
    n_draws = 1 if batch.problem.n_features <= protocol.max_direct else protocol.n_draws
    return n_draws * (_DRAW[0] + _DRAW[1] * protocol.n_uniform)
