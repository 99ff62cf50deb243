internal import FoundationEssentials

/// Where the build put what it built.
public enum Products {
    /// The directory of the running test bundle, which is that of all products.
    public static func directory() throws -> String {
        let arguments = CommandLine.arguments
        var candidates: [String] = []
        if let option = arguments.firstIndex(of: "--test-bundle-path"),
            option + 1 < arguments.count
        {
            candidates.append(arguments[option + 1])
        }
        candidates += arguments.filter { $0.hasSuffix(".xctest") }
        if let program = try? FileManager.default.destinationOfSymbolicLink(
            atPath: "/proc/self/exe")
        {
            candidates.append(program)
        }
        for candidate in candidates where candidate.hasSuffix(".xctest") {
            guard let slash = candidate.lastIndex(of: "/") else { continue }
            return String(candidate[..<slash])
        }
        throw TestSupportError("products: no test bundle: \(arguments.joined(separator: " "))")
    }

    /// The path of a product, such as `outlet` or `libpacer.so`.
    ///
    /// - Throws: ``TestSupportError`` if it has not been built.
    public static func path(_ name: String) throws -> String {
        let path = try "\(directory())/\(name)"
        guard FileManager.default.fileExists(atPath: path) else {
            throw TestSupportError("products: not built: \(path): run swift build --build-tests")
        }
        return path
    }
}
