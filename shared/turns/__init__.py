"""From a request to a turn: `accept` checks it, and `begin` begins its turn, whichever way it came in."""
