"""Equations of Office documents as text on one line, such as `(a+b)/2`.

Source: ECMA-376 Part 1, 22.1 'Math', and MathML 3.
"""

from xml.etree.ElementTree import Element

from shared.reading.packages import local_name

_OPERANDS = {
    **dict.fromkeys(("f", "mfrac"), "{0}/{1}"),
    **dict.fromkeys(("sSup", "msup", "limUpp", "mover"), "{0}^{1}"),
    **dict.fromkeys(("sSub", "msub", "limLow", "munder"), "{0}_{1}"),
    **dict.fromkeys(("sSubSup", "msubsup", "munderover"), "{0}_{1}^{2}"),
}
"""How the parts of an element are written, each as one operand."""
_WHOLE = {"rad": "{0}√({1})", "mroot": "{1}√({0})", "func": "{0}({1})"}
"""How they are written as they are."""
_BETWEEN = {"m": "; ", "mtable": "; ", "eqArr": "; ", "mr": ", ", "mtr": ", "}


def equation_text(element: Element) -> str:
    """The text of an equation, or of a part of one."""
    parts = [equation_text(child) for child in element if not local_name(child).endswith(("Pr", "annotation"))]
    three = (*parts, "", "", "")[:3]
    match local_name(element):
        case name if name in _OPERANDS:
            return _OPERANDS[name].format(*map(_whole, three))
        case name if name in _WHOLE:
            return _WHOLE[name].format(*three)
        case "msqrt":
            return f"√({''.join(parts)})"
        case "nary":
            low, high, rest = three
            return (
                f"{_sign(element, 'chr', '∫')}{f'_{_whole(low)}' * bool(low)}{f'^{_whole(high)}' * bool(high)} {rest}"
            )
        case "d":
            inner = _sign(element, "sepChr", "|").join(parts)
            return f"{_sign(element, 'begChr', '(')}{inner}{_sign(element, 'endChr', ')')}"
        case name:
            return (element.text or "").strip() + _BETWEEN.get(name, "").join(parts)


def _whole(text: str) -> str:
    """The text as one operand."""
    return text if len(text) == 1 or text.isalnum() else f"({text})"


def _sign(element: Element, name: str, default: str) -> str:
    """A sign that the properties of an element name."""
    for found in element.iterfind(f"./*/{{*}}{name}"):
        return next(iter(found.attrib.values()), "")
    return default
