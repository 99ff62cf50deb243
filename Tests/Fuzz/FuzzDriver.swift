import CFuzzer
import FoundationEssentials
import Glibc

/// Runs libFuzzer on one target: `OutletFuzz TARGET [OPTION…] CORPUS…`.
///
/// Prints the names of the targets when TARGET is missing or unknown.
enum FuzzDriver {
    private static let target = CommandLine.arguments.dropFirst().first.flatMap { name in
        FuzzTarget.all.first { $0.name == name }
    }

    /// Runs the program.
    ///
    /// - Returns: The exit code.
    static func run() -> Int32 {
        guard target != nil else {
            for target in FuzzTarget.all { print(target.name) }
            return CommandLine.arguments.count > 1 ? 64 : 0
        }
        let words = [CommandLine.arguments[0]] + CommandLine.arguments.dropFirst(2)
        var arguments = words.map { strdup($0) } + [nil]
        var count = Int32(words.count)
        return arguments.withUnsafeMutableBufferPointer { buffer in
            guard var start = buffer.baseAddress else { return 70 }
            return LLVMFuzzerRunDriver(&count, &start) { bytes, size in
                FuzzDriver.take(UnsafeRawBufferPointer(start: bytes, count: size))
                return 0
            }
        }
    }

    private static func take(_ bytes: UnsafeRawBufferPointer) {
        do {
            try target?.run(Data(bytes))
        } catch {
            let text = Array("\(target?.name ?? ""): \(error)\n".utf8)
            _ = write(STDERR_FILENO, text, text.count)
            abort()
        }
    }
}
