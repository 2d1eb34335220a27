"""Sums that people write out: 8*3*512*64 + 512^2, 1024:16, 0.3*(-2). No Streamlit.

In: a text. Out: its value if it is arithmetic and nothing else. Nothing is run: the text is read as a tree of numbers
and the signs + - * / ^.
"""

import ast
import operator
import re
from collections.abc import Callable

LONGEST = 120  # characters of a sum
LARGEST = 1e15  # of a result
DONE: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}


def value_of(text: str) -> float | None:
    """The value of a sum, or None of what is none; a comma between digits is decimal, x and : stand for * and /, and
    75 % is 0.75."""
    written = text.strip().rstrip(".!?;,").replace("^", "**")
    written = re.sub(r"(\d+(?:[.,]\d+)?|[.,]\d+)\s*%", r"(\1/100)", written)
    written = re.sub(r"(?<=[\d)])\s*x\s*(?=[\d(-])", "*", written)
    written = re.sub(r"(?<=[\d)])\s*:\s*(?=[\d(-])", "/", written)
    written = re.sub(r"(?<=\d),(?=\d)", ".", written)
    if len(written) > LONGEST or not re.fullmatch(r"[\d.+\-*/() ]+", written):
        return None
    try:
        return _value(ast.parse(written, mode="eval").body)
    except (SyntaxError, ArithmeticError):
        return None


def _value(part: ast.expr) -> float:
    """The value of a part. Raises SyntaxError for what is no arithmetic, ArithmeticError for what has no value here."""
    if isinstance(part, ast.Constant) and isinstance(part.value, int | float):
        return part.value
    if isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.USub | ast.UAdd):
        inner = _value(part.operand)
        return -inner if isinstance(part.op, ast.USub) else inner
    if isinstance(part, ast.BinOp) and type(part.op) in DONE:
        left, right = _value(part.left), _value(part.right)
        if isinstance(part.op, ast.Pow) and right not in range(41):
            raise OverflowError
        result = DONE[type(part.op)](left, right)
        if abs(result) > LARGEST:
            raise OverflowError
        return float(result)
    raise SyntaxError
