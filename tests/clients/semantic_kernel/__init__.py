"""The real `semantic-kernel` package, in an environment of its own, which reads what the app sends.

The app never depends on it. It is a uv project of its own rather than a dependency group of the app's, since the
package needs pydantic < 2.14 where the app has a later one, and uv locks one version of everything for one project.
"""
