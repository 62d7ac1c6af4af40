"""What a running broker does by itself: flush, delete, compact, elect leaders, run timers."""
