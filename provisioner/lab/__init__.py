"""The virtual rack: real emulators, firmware and services in network namespaces of their own."""
