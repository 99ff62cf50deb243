import Glibc
import OutletCLI

exit(CommandLineTool.run(arguments: CommandLine.unsafeArgv, count: Int(CommandLine.argc)))
