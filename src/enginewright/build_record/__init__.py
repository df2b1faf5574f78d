"""Records of builds: what each step did, and where its result came from."""
