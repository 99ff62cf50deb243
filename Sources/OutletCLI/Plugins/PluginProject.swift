import FoundationEssentials
import Glibc
import Outlet
import OutletFiles

/// The project of a new plugin, which `outlet plugins new` writes.
struct PluginProject {
    /// The programming language of a project.
    enum Language: String, Sendable, CaseIterable {
        case c, swift
    }

    /// The last part of the id, which is also the name of the folder and the library; another name
    /// if the SDK's package has a product of that name.
    let name: String
    /// The plugin's id, such as `com.example.stamp`.
    let id: String
    let language: Language

    /// Makes a project; `nil` if the name is not allowed.
    ///
    /// - Parameters:
    ///   - text: An id, or a name, to which `com.example.` is prefixed for the id.
    ///   - language: The programming language.
    init?(name text: String, language: Language) {
        let parts = text.parts(separatedBy: ".")
        guard text.utf8.count <= 64, let last = parts.last, parts.allSatisfy(Self.isName) else {
            return nil
        }
        name = language == .swift && last == "outlet" ? "outlet-plugin" : String(last)
        id = parts.count > 1 ? text : "com.example.\(text)"
        self.language = language
    }

    /// Whether a part of a name is allowed: lower-case letters, digits and hyphens.
    ///
    /// Such a name needs no escaping in any of the files.
    private static func isName(_ text: Substring) -> Bool {
        guard let first = text.utf8.first, let last = text.utf8.last else { return false }
        return first.isAlpha && last != UInt8(ascii: "-")
            && text.utf8.allSatisfy { byte in
                byte.isDigit || byte == UInt8(ascii: "-") || byte.isAlpha && byte & 0x20 != 0
            }
    }

    /// The name in the form of a Swift type's, such as `RequestId`, which is also the name of the
    /// module; with the suffix `Plugin` if Swift or the SDK uses it.
    var typeName: String {
        let parts = name.parts(separatedBy: "-")
        let words = parts.map { part in
            part.prefix(1).uppercased() + part.dropFirst()  // text: ours
        }.joined()
        // The SDK's modules begin with `Outlet`, and those of C with `C`.
        let isTaken =
            PluginTemplate.takenNames.contains(words) || parts[0] == "c" && parts.count > 1
            || words.startsWithBytes(of: "Outlet")
        return isTaken ? "\(words)Plugin" : words
    }

    /// Makes a folder and writes the project's files into it.
    ///
    /// - Throws: ``CommandError`` with ``ExitCode/failure`` if the folder exists already, or cannot
    ///   be written.
    func write(to directory: String) throws(CommandError) {
        try makeParents(of: directory)
        // Only the owner may write: the host rejects plugins that other users can change.
        guard mkdir(directory, 0o755) == 0 else {
            let reason =
                errno == EEXIST
                ? "it exists already, and the project's folder must be a new one"
                : systemText(errno)
            throw CommandError(.failure, "\(directory): not made: \(reason)")
        }
        do throws(CommandError) {
            try writeFiles(to: directory)
        } catch {
            // Otherwise the same command would find the folder there.
            try? FileManager.default.removeItem(atPath: directory)
            throw error
        }
    }

    private func writeFiles(to directory: String) throws(CommandError) {
        for (file, text) in files {
            let path = "\(directory)/\(file)"
            do {
                if let (folders, _) = file.cutAtLast("/") {
                    try FileManager.default.createDirectory(
                        atPath: "\(directory)/\(folders)", withIntermediateDirectories: true)
                }
                try Data(filled(text).utf8).write(
                    to: URL(filePath: path), options: .withoutOverwriting)
            } catch {
                throw CommandError(.failure, "\(path): cannot be written: \(error.fileReason)")
            }
        }
    }

    /// Makes the missing folders above a folder.
    private func makeParents(of directory: String) throws(CommandError) {
        var path = directory[...]
        while path.utf8.last == UInt8(ascii: "/") { path = path.dropLast() }
        guard let parent = path.cutAtLast("/")?.head, !parent.isEmpty else { return }
        do {
            try FileManager.default.createDirectory(
                atPath: String(parent), withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o755])
        } catch {
            throw CommandError(.failure, "\(parent): not made: \(error.fileReason)")
        }
    }

    /// The paths in the folder and the templates of the files.
    private var files: [(String, String)] {
        switch language {
        case .c:
            [
                ("\(source).c", PluginTemplate.cSource), ("\(source)_test.c", PluginTemplate.cTest),
                ("Makefile", PluginTemplate.cMakefile),
                ("README.md", PluginTemplate.cReadme), (".gitignore", PluginTemplate.cIgnored),
            ]
        case .swift:
            [
                ("Package.swift", PluginTemplate.swiftPackage),
                ("Sources/\(typeName)/\(typeName).swift", PluginTemplate.swiftSource),
                ("Sources/\(typeName)/Manifest.swift", manifest),
                ("Tests/\(typeName)Tests/\(typeName)Tests.swift", PluginTemplate.swiftTests),
                ("Makefile", PluginTemplate.swiftMakefile),
                ("README.md", PluginTemplate.swiftReadme),
                (".gitignore", PluginTemplate.swiftIgnored),
            ]
        }
    }

    /// The name with underscores instead of hyphens, for C files.
    private var source: String { name.replacing("-", with: "_") }  // text: ours

    /// The path of the library that the Makefile builds.
    private var library: String {
        language == .c ? "\(name).so" : ".build/release/lib\(name).so"
    }

    private func filled(_ template: String) -> String {
        var text = template
        for (mark, value) in [
            ("{id}", id), ("{name}", name), ("{source}", source), ("{Type}", typeName),
            ("{import}", "import"),
            ("{library}", library),
            ("{file}", language == .c ? "\(source).c" : "Sources/\(typeName)/\(typeName).swift"),
        ] {
            text = text.replacing(mark, with: value)  // text: ours
        }
        return text
    }

    /// The Swift file with the library's manifest, in the form that `manifest.sh` generates.
    private var manifest: String {
        let json =
            "{\"id\":\"\(id)\",\"version\":\"1.0.0\",\"abi\":\"\(PluginHost.abiVersion)\","
            + "\"permissions\":[]}"
        let bytes = Array(json.utf8) + [0]
        let rows = stride(from: 0, to: bytes.count, by: 16).map { start in
            let row = bytes[start..<min(start + 16, bytes.count)]
            return "    "
                + row.map { "0x" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }
                .joined(separator: ", ") + ","
        }
        return """
            // Generated by PluginsSDK/Swift/manifest.sh. The host reads it before it runs any code.
            // \(json)
            @section(".outlet.manifest") @used
            private let manifest: InlineArray<\(bytes.count), UInt8> = [
            \(rows.joined(separator: "\n"))
            ]

            """
    }
}
