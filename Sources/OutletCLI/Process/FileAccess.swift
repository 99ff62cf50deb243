import FoundationEssentials
import Glibc
import Outlet
import OutletFiles

/// Reads a file that the command line names.
///
/// - Throws: A usage error: the line names something that cannot be read.
func readFile(_ path: String) throws(CommandError) -> [UInt8] {
    do {
        return Array(try Data(contentOf: URL(filePath: path)))
    } catch {
        throw .usage("\(path): cannot be read: \(fileReason(error))", advice: "")
    }
}

/// What a file error says, in few words.
func fileReason(_ error: any Error) -> String {
    guard let error = error as? CocoaError else { return "\(error)" }
    if let system = error.underlying as? POSIXError { return systemReason(system.code.rawValue) }
    return switch error.code {
    case .fileNoSuchFile, .fileReadNoSuchFile: "no such file or directory"
    case .fileReadNoPermission, .fileWriteNoPermission: "permission denied"
    case .fileWriteOutOfSpace: "no space left on device"
    default: "file error \(error.code.rawValue)"
    }
}
