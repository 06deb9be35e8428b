"""Shifts of compiled code that raise where the processor does not define their result.

That is a shift by as many bits as the integer has, by more, or by a negative number. Numba checks
none of them, even where it checks the bounds of indices.
"""

import operator
from collections.abc import Callable
from typing import Any

from numba import extending
from numba.core import cgutils, types
from numba.cpython.numbers import int_shl_impl, int_shr_impl

# Numba has no types for these.
_cgutils: Any = cgutils
_extending: Any = extending


def check_shifts() -> None:
    """Check the shifts of all code that is compiled from now on."""
    for shift, operators in (
        (int_shl_impl, (operator.lshift, operator.ilshift)),
        (int_shr_impl, (operator.rshift, operator.irshift)),
    ):
        for each in operators:
            _extending.lower_builtin(each, types.Integer, types.Integer)(_checked(shift))


def _checked(shift: Callable[..., Any]) -> Callable[..., Any]:
    def compile_shift(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        n_bits = context.cast(builder, args[1], signature.args[1], types.int64)
        # Seen as an unsigned integer, a negative one is large.
        width = n_bits.type(signature.return_type.bitwidth)
        with _cgutils.if_unlikely(builder, builder.icmp_unsigned(">=", n_bits, width)):
            context.call_conv.return_user_exc(builder, IndexError, ("shift is out of bounds",))
        return shift(context, builder, signature, args)

    return compile_shift
