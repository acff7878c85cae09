"""SQL over the blocks of one brain or several: guarded, sealed, tied to roots (contract C21 to C30)."""
