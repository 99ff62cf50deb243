import Glibc
import OutletCLI

exit(CommandLineTool.run(arguments: CommandLine.arguments))
