"""`python -m armature`: the same program as `armature`."""

from armature.cli.program import main

if __name__ == "__main__":
    main()
