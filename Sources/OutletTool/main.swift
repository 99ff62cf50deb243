import Glibc
import OutletCLI

exit(await CommandLineTool.run(arguments: CommandLine.arguments))
