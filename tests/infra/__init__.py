"""What Azure is given: the Bicep files, their parameters, and what a deployment takes along."""
