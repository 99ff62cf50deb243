import FoundationEssentials
import OutletFiles
import OutletHTTP

/// Media types of files by their extensions.
///
/// A built-in table of common types comes first, so that a request is the same on every machine;
/// other extensions are looked up in the system's `/etc/mime.types` (Debian's media-types).
package enum MediaTypes {
    /// Returns the media type; `application/octet-stream` when the extension is not known.
    package static func type(forPathExtension pathExtension: String) -> String {
        let key = pathExtension.lowercasedASCII
        return common[key] ?? system[key] ?? "application/octet-stream"
    }

    /// Read when an extension is not in the built-in table for the first time.
    private static let system: [String: String] = {
        guard let data = try? Data(contentOf: URL(filePath: "/etc/mime.types")) else { return [:] }
        return parse(String(decoding: data, as: UTF8.self))
    }()

    /// Parses lines of a type and its extensions; the first type listed for an extension counts.
    static func parse(_ text: String) -> [String: String] {
        var types: [String: String] = [:]
        for line in text.lines {
            let text = line.prefix(whileByte: { $0 != UInt8(ascii: "#") })
            let words = text.utf8.split(whereSeparator: \.isBlank).map { Substring($0) }
            guard let type = words.first else { continue }
            for word in words.dropFirst() {
                let key = word.lowercasedASCII
                types[key] = types[key] ?? String(type)
            }
        }
        return types
    }

    private static let common: [String: String] = [
        "7z": "application/x-7z-compressed",
        "aac": "audio/aac",
        "avif": "image/avif",
        "bin": "application/octet-stream",
        "bmp": "image/bmp",
        "bz2": "application/x-bzip2",
        "css": "text/css",
        "csv": "text/csv",
        "doc": "application/msword",
        "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "flac": "audio/flac",
        "gif": "image/gif",
        "gz": "application/gzip",
        "heic": "image/heic",
        "htm": "text/html",
        "html": "text/html",
        "ico": "image/vnd.microsoft.icon",
        "ics": "text/calendar",
        "jpeg": "image/jpeg",
        "jpg": "image/jpeg",
        "js": "text/javascript",
        "json": "application/json",
        "m4a": "audio/mp4",
        "md": "text/markdown",
        "mov": "video/quicktime",
        "mp3": "audio/mpeg",
        "mp4": "video/mp4",
        "ogg": "audio/ogg",
        "pdf": "application/pdf",
        "plist": "application/x-plist",
        "png": "image/png",
        "ppt": "application/vnd.ms-powerpoint",
        "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        "rtf": "application/rtf",
        "svg": "image/svg+xml",
        "tar": "application/x-tar",
        "tif": "image/tiff",
        "tiff": "image/tiff",
        "txt": "text/plain",
        "wasm": "application/wasm",
        "wav": "audio/wav",
        "webm": "video/webm",
        "webp": "image/webp",
        "xls": "application/vnd.ms-excel",
        "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "xml": "application/xml",
        "yaml": "application/yaml",
        "yml": "application/yaml",
        "zip": "application/zip",
        "zst": "application/zstd",
    ]
}
