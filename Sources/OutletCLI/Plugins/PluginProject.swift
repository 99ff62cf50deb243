import FoundationEssentials
import Glibc
import Outlet

/// A new plugin, as files of a folder of its own.
struct PluginProject {
    /// What it is written in.
    enum Language: String, Sendable, CaseIterable {
        case c, swift
    }

    /// The last part of the id: what the folder and the library are called.
    let name: String
    /// Such as `com.example.stamp`.
    let id: String
    let language: Language

    /// - Parameter name: An id, or the last part of one.
    init?(name text: String, language: Language) {
        let parts = text.parts(separatedBy: ".")
        guard text.utf8.count <= 64, let last = parts.last, parts.allSatisfy(Self.isName) else {
            return nil
        }
        name = String(last)
        id = parts.count > 1 ? text : "com.example.\(text)"
        self.language = language
    }

    /// Whether every tool that meets the name takes it as it is.
    private static func isName(_ text: Substring) -> Bool {
        guard let first = text.utf8.first, let last = text.utf8.last else { return false }
        return first.isAlpha && last != UInt8(ascii: "-")
            && text.utf8.allSatisfy { byte in
                byte.isDigit || byte == UInt8(ascii: "-") || byte.isAlpha && byte & 0x20 != 0
            }
    }

    /// The name as one of a Swift type, such as `RequestId`.
    private var typeName: String {
        name.parts(separatedBy: "-").map { part in
            part.prefix(1).uppercased() + part.dropFirst()  // text: ours
        }.joined()
    }

    /// Makes the folder with its files.
    ///
    /// - Throws: A ``CommandError`` when there is something of that name, or when it cannot be written.
    func write(to directory: String) throws(CommandError) {
        // For its owner alone to write, as plugins have to be.
        guard mkdir(directory, 0o755) == 0 else {
            let reason = errno == EEXIST ? "there is something of that name" : systemReason(errno)
            throw CommandError(.failure, "\(directory): not made: \(reason)")
        }
        for (file, text) in files {
            let path = "\(directory)/\(file)"
            if let (folders, _) = file.cutAtLast("/") {
                try? FileManager.default.createDirectory(
                    atPath: "\(directory)/\(folders)", withIntermediateDirectories: true)
            }
            do {
                try Data(filled(text).utf8).write(
                    to: URL(filePath: path), options: .withoutOverwriting)
            } catch {
                throw CommandError(.failure, "\(path): cannot be written: \(error)")
            }
        }
    }

    /// What is written, by path in the folder.
    private var files: [(String, String)] {
        switch language {
        case .c:
            [
                ("\(source).c", PluginTemplate.cSource), ("\(source)_test.c", PluginTemplate.cTest),
                ("Makefile", PluginTemplate.cMakefile),
                ("README.md", PluginTemplate.readme), (".gitignore", PluginTemplate.cIgnored),
            ]
        case .swift:
            [
                ("Package.swift", PluginTemplate.swiftPackage),
                ("Sources/\(typeName)/\(typeName).swift", PluginTemplate.swiftSource),
                ("Sources/\(typeName)/Manifest.swift", manifest),
                ("Makefile", PluginTemplate.swiftMakefile), ("README.md", PluginTemplate.readme),
                (".gitignore", PluginTemplate.swiftIgnored),
            ]
        }
    }

    /// The name with what C files are named with.
    private var source: String { name.replacing("-", with: "_") }  // text: ours

    private func filled(_ template: String) -> String {
        var text = template
        for (mark, value) in [
            ("{id}", id), ("{name}", name), ("{source}", source), ("{Type}", typeName),
            ("{import}", "import"),
            ("{file}", language == .c ? "\(source).c" : "Sources/\(typeName)/\(typeName).swift"),
        ] {
            text = text.replacing(mark, with: value)  // text: ours
        }
        return text
    }

    /// A Swift file that puts the plugin into its library's manifest, as `manifest.sh` writes it.
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
            // What the host reads before it runs any code; made anew by PluginsSDK/Swift/manifest.sh.
            // \(json)
            @section(".outlet.manifest") @used
            private let manifest: InlineArray<\(bytes.count), UInt8> = [
            \(rows.joined(separator: "\n"))
            ]

            """
    }
}
