"""Cross-origin answers, as Core Tools gives them for `Host.CORS`: any method and header for the named origins."""

from collections.abc import Mapping

from local.settings_file import Cors


def is_preflight(method: str, headers: Mapping[str, str]) -> bool:
    """Tell whether a browser asks for permission rather than for the thing itself."""
    return method == "OPTIONS" and "Origin" in headers and "Access-Control-Request-Method" in headers


def preflight_headers(cors: Cors, headers: Mapping[str, str]) -> dict[str, str]:
    """Return the permission, empty where the origin is not allowed."""
    allowed = answer_headers(cors, headers)
    if "Access-Control-Allow-Origin" in allowed:
        allowed["Access-Control-Allow-Methods"] = headers["Access-Control-Request-Method"]
        if "Access-Control-Request-Headers" in headers:
            allowed["Access-Control-Allow-Headers"] = headers["Access-Control-Request-Headers"]
    return allowed


def answer_headers(cors: Cors, headers: Mapping[str, str]) -> dict[str, str]:
    """Return what lets the caller's page read an answer, empty without CORS or without an origin."""
    origin = headers.get("Origin")
    if not cors.origins or origin is None:
        return {}
    if "*" in cors.origins:
        return {"Access-Control-Allow-Origin": "*"}
    if origin.lower() not in {allowed.lower() for allowed in cors.origins}:
        return {"Vary": "Origin"}
    allowed = {"Access-Control-Allow-Origin": origin, "Vary": "Origin"}
    return allowed | ({"Access-Control-Allow-Credentials": "true"} if cors.credentials else {})
