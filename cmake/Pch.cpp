// Carries the precompiled header; no code of its own.
