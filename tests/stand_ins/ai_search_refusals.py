"""How Azure AI Search says no."""


class Refusal(Exception):
    """An error of the service, as its REST API words it."""

    def __init__(self, status: int, message: str, code: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.body = {"error": {"code": code, "message": message}}


def invalid(message: str) -> Refusal:
    """A request that is wrong in itself."""
    return Refusal(400, message, "InvalidRequestParameter")


def invalid_parameter(message: str, parameter: str) -> Refusal:
    """A parameter of a query that is wrong."""
    return invalid(f"{message}\r\nParameter name: {parameter}")


def no_such_field(name: str, parameter: str) -> Refusal:
    """A query that names a field which the index does not have."""
    message = f"Invalid expression: Could not find a property named '{name}' on type 'search.document'."
    return invalid_parameter(message, parameter)
