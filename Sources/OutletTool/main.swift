import OutletCLI
