"""The OpenAPI document for all tests of a process: to make it takes half a second of CPU."""

from function_app import ROUTES
from shared.description.openapi import build_openapi

OPENAPI = build_openapi(ROUTES)
