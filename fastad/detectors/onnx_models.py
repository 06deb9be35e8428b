"""Models in the ONNX format as scorers, through onnxruntime."""

from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from fastad._core.extras import import_extra
from fastad._core.parameters import check_choice, short_repr
from fastad._core.types import FloatMatrix, FloatVector
from fastad.detectors.scorer import CompiledScorer
from fastad.errors import InvalidInputError, InvalidTypeError

Kind: TypeAlias = Literal["score", "reconstruction"]
HigherIs: TypeAlias = Literal["anomalous", "normal"]

_TYPES: dict[str, np.dtype[Any]] = {
    "tensor(float)": np.dtype(np.float32),
    "tensor(double)": np.dtype(np.float64),
    "tensor(float16)": np.dtype(np.float16),
}
# Rows of a batch. Always the same number, filled up at the end: products of matrices round
# otherwise in batches of other sizes. A perceptron of 10, 64 and 10 units takes 200 ns a row in
# batches of 256, 440 with 64 rows, 140 with 1024, where a few points would cost a whole batch.
_ROWS = 256


def onnx_scorer(
    model: str | Path | bytes,
    *,
    kind: Kind = "score",
    output: str | None = None,
    higher_is: HigherIs = "anomalous",
) -> CompiledScorer:
    """Score points with a model in the ONNX format.

    Parameters
    ----------
    model : str, pathlib.Path or bytes
        A file, or its content; with one input, a table of floating-point numbers with points in
        rows. Coordinates are rounded to its precision.
    kind : {"score", "reconstruction"}, default "score"
        Meaning of the output: one score for each row, or the rows as an autoencoder reconstructs
        them, of which the mean squared error is the score.
    output : str, optional
        Name of the output; may be left out if there is only one.
    higher_is : {"anomalous", "normal"}, default "anomalous"
        Points that have the higher scores; "normal" negates them. Models that were converted from
        scikit-learn's detectors are higher for normal ones.

    Returns
    -------
    CompiledScorer
        ``score_samples(X)`` on threads, higher is more anomalous; also a score for `volume` and on
        Dask. It can be pickled: the model's bytes travel along.

    Raises
    ------
    InvalidInputError
        If the file or an option is invalid; the message names the model's inputs and outputs.
    MissingExtraError
        If onnxruntime is not installed.

    Notes
    -----
    Runs on the processor. Rows are scored in batches of 256, the last one filled up, so that a
    score does not depend on how many points are scored together. A model with a fixed number of
    rows has batches of that, and the last bit of a score may depend on its place in the batch.

    Examples
    --------
    >>> import fastad
    >>> scorer = fastad.detectors.onnx_scorer("model.onnx", kind="reconstruction")  # doctest: +SKIP
    >>> fastad.volume(scorer, 0.1, box, rng=0)  # doctest: +SKIP
    """
    check_choice(kind, get_args(Kind), "kind")
    check_choice(higher_is, get_args(HigherIs), "higher_is")
    if kind == "reconstruction" and higher_is == "normal":
        raise InvalidInputError(
            "higher_is must be 'anomalous' for kind='reconstruction', whose error is higher for "
            "anomalies; found 'normal'"
        )
    if not isinstance(model, str | Path | bytes):
        raise InvalidTypeError(f"model must be a path or bytes; found {short_repr(model)}")
    if isinstance(model, bytes):
        content, name = model, "an ONNX model"
    else:
        try:
            content, name = Path(model).read_bytes(), Path(model).name
        except OSError as error:
            raise InvalidInputError(
                f"model must be a file that can be read; found {error}"
            ) from None
    return OnnxScorer(content, name, kind, output, negated=higher_is == "normal")


class OnnxScorer(CompiledScorer):
    """The scores of a model; see `onnx_scorer`."""

    def __init__(
        self, content: bytes, name: str, kind: Kind, output: str | None, *, negated: bool
    ) -> None:
        self.name = name
        self._content, self._kind, self._negated = content, kind, negated
        self._session = _session(content)
        self._input, self._type, n_rows, self.n_features = _input_of(self._session)
        self._n_rows = n_rows or _ROWS
        self._output = _output_of(self._session, output)
        if self.n_features is not None:  # fail here, not after many draws
            self._scores_of(np.zeros((self._n_rows, self.n_features), self._type))

    def __repr__(self) -> str:
        return f"<OnnxScorer of {self.name}, {self.n_features} features>"

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "_session"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._session = _session(self._content)

    def score_block(self, points: FloatMatrix, scores: FloatVector) -> None:
        """Write the scores of some points, as said by `CompiledScorer`."""
        batch = np.empty((self._n_rows, points.shape[0]), self._type)
        for start in range(0, points.shape[1], self._n_rows):
            some = points[:, start : start + self._n_rows]
            n = some.shape[1]
            batch[:n] = some.T
            batch[n:] = batch[0]
            scores[start : start + n] = self._scores_of(batch)[:n]

    def _scores_of(self, batch: npt.NDArray[Any]) -> FloatVector:
        """Return the scores of a batch of the model's own size."""
        try:
            result = np.asarray(self._session.run([self._output], {self._input: batch})[0])
        except Exception as error:  # onnxruntime's errors have no common class of their own
            raise InvalidInputError(
                f"{self.name} must score {batch.shape[0]} points of {batch.shape[1]} features; "
                f"found {type(error).__name__} ({error})",
                argument="model",
            ) from error
        n = batch.shape[0]
        if self._kind == "reconstruction":
            if result.shape != batch.shape:
                raise self._refusal(f"the rows of shape {batch.shape}, reconstructed", result)
            # Differences of the numbers that the model was given.
            errors = batch.astype(np.float64) - result
            means: FloatVector = np.einsum("ij,ij->i", errors, errors) / batch.shape[1]
            return means
        if result.shape not in ((n,), (n, 1)) or result.dtype.kind not in "biuf":
            raise self._refusal(f"one number for each of {n} points", result)
        scores: FloatVector = result.reshape(n).astype(np.float64)
        return -scores if self._negated else scores

    def _refusal(self, expected: str, result: npt.NDArray[Any]) -> InvalidInputError:
        return InvalidInputError(
            f"output {self._output!r} of the model must be {expected}; found shape {result.shape} "
            f"of {result.dtype}. kind= says what an output is, output= names another one",
            argument="output",
        )


def _session(content: bytes) -> Any:
    runtime = import_extra("onnxruntime", "onnx_scorer", extra="onnx")
    options = runtime.SessionOptions()
    # Threads are outside, over the points.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.use_deterministic_compute = True
    options.log_severity_level = 3  # errors, which are raised
    try:
        return runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's errors have no common class of their own
        raise InvalidInputError(
            "model must be a model in the ONNX format with its weights in the same file; found "
            f"{type(error).__name__} ({error})"
        ) from error


def _input_of(session: Any) -> tuple[str, np.dtype[Any], int | None, int | None]:
    """Return the name and type of the input, and its numbers of rows and features if fixed."""
    inputs = session.get_inputs()
    if len(inputs) == 1 and inputs[0].type in _TYPES and len(inputs[0].shape) == 2:
        n_rows, n_features = (
            size if isinstance(size, int) and size > 0 else None for size in inputs[0].shape
        )
        return inputs[0].name, _TYPES[inputs[0].type], n_rows, n_features
    found = ", ".join(f"{node.name!r}: {node.type} of shape {node.shape}" for node in inputs)
    raise InvalidInputError(
        "model must have one input, a table of floating-point numbers of shape (n_points, "
        f"n_features); found {found or 'none'}"
    )


def _output_of(session: Any, name: str | None) -> str:
    """Return the name of the output, which must be given if there are several."""
    names: list[str] = [node.name for node in session.get_outputs()]
    if name is None and len(names) == 1:
        return names[0]
    if name not in names:
        raise InvalidInputError(
            f"output must be one of {', '.join(map(repr, names))}; found {short_repr(name)}"
        )
    return name
