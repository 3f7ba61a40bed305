"""Memory over time: who touches which storage, from when to when it is live, and what it takes."""
