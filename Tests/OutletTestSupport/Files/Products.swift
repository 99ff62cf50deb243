internal import FoundationEssentials

/// Finds the programs and libraries that the build made.
public enum Products {
    /// Returns the directory of the running test bundle, which is also that of all products.
    ///
    /// - Throws: ``TestSupportError`` if this process does not run a test bundle.
    public static func directory() throws -> String {
        let arguments = CommandLine.arguments
        let program = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        for path in [program ?? ""] + arguments where path.hasSuffix(".xctest") {
            if let slash = path.lastIndex(of: "/") { return String(path[..<slash]) }
        }
        throw TestSupportError("products: no test bundle: \(arguments.joined(separator: " "))")
    }

    /// Returns the path of a product, such as `outlet` or `libpacer.so`, or of a faulty plugin.
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

    /// Returns the path of a plugin that breaks the contract.
    ///
    /// `make fixtures` builds these plugins, in one directory for all build configurations.
    private static func fixture(_ name: String) throws -> String {
        let root = #filePath.dropLast("/Tests/OutletTestSupport/Files/Products.swift".count)
        let path = "\(root)/.build/fixtures/\(name)"
        guard FileManager.default.fileExists(atPath: path) else {
            throw TestSupportError("products: not built: \(path): run make fixtures")
        }
        return path
    }
}
