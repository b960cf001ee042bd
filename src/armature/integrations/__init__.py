"""Other people's programs: what lets them use the library by their own interfaces."""
