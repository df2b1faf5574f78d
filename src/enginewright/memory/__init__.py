"""Does it fit? Memory of engines and of servers."""
