"""What tests of several rooms use: ways to run things, scenarios, pages, programs that kill."""
