internal import FoundationEssentials

/// Where the build put what it built.
public enum Products {
    /// The directory of the running test bundle, which is that of all products.
    public static func directory() throws -> String {
        let arguments = CommandLine.arguments
        let program = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        for path in [program ?? ""] + arguments where path.hasSuffix(".xctest") {
            if let slash = path.lastIndex(of: "/") { return String(path[..<slash]) }
        }
        throw TestSupportError("products: no test bundle: \(arguments.joined(separator: " "))")
    }

    /// The path of a product, such as `outlet` or `libpacer.so`, or of a faulty plugin.
    ///
    /// - Throws: ``TestSupportError`` if it has not been built.
    public static func path(_ name: String) throws -> String {
        if name.hasPrefix("libFaulty") { return try fixture(name) }
        let path = try "\(directory())/\(name)"
        guard FileManager.default.fileExists(atPath: path) else {
            throw TestSupportError("products: not built: \(path): run swift build --build-tests")
        }
        return path
    }

    /// The path of a plugin that breaks the contract: make builds them, whatever the tests are built for.
    private static func fixture(_ name: String) throws -> String {
        let root = #filePath.dropLast("/Tests/OutletTestSupport/Files/Products.swift".count)
        let path = "\(root)/.build/fixtures/\(name)"
        guard FileManager.default.fileExists(atPath: path) else {
            throw TestSupportError("products: not built: \(path): run make fixtures")
        }
        return path
    }
}
