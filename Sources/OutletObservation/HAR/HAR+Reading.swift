import FoundationEssentials
import OutletTransport

/// Decoding of members that are optional in the format, or that other programs leave out.
extension HAR.PostData {
    /// Decodes a body; missing members are empty.
    ///
    /// - Throws: `DecodingError` when a member is of the wrong type.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            mimeType: try values.decodeIfPresent(String.self, forKey: .mimeType) ?? "",
            text: try values.decodeIfPresent(String.self, forKey: .text) ?? "",
            encoding: try values.decodeIfPresent(String.self, forKey: .encoding))
        // Parameters of files have no value and cannot be decoded; `text` has the whole body.
        params = (try? values.decode([HAR.Pair].self, forKey: .params)) ?? []
        comment = try values.decodeIfPresent(String.self, forKey: .comment)
    }
}

extension HAR.Timings {
    /// Decodes timings; missing stages are -1, but `send`, `wait` and `receive` 0.
    ///
    /// - Throws: `DecodingError` when a member is of the wrong type.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        func value(_ key: CodingKeys, _ fallback: Double) throws -> Double {
            try values.decodeIfPresent(Double.self, forKey: key) ?? fallback
        }
        self.init(
            blocked: try value(.blocked, -1), dns: try value(.dns, -1),
            connect: try value(.connect, -1), send: try value(.send, 0),
            wait: try value(.wait, 0), receive: try value(.receive, 0), ssl: try value(.ssl, -1))
    }
}

extension HAR.Content {
    /// Decodes a body; a missing ``size`` is the length of ``text`` in UTF-8.
    ///
    /// - Throws: `DecodingError` when a member is of the wrong type.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        let text = try values.decodeIfPresent(String.self, forKey: .text)
        self.init(
            size: try values.decodeIfPresent(Int64.self, forKey: .size)
                ?? Int64(text?.utf8.count ?? 0),
            mimeType: try values.decodeIfPresent(String.self, forKey: .mimeType) ?? "")
        self.text = text
        encoding = try values.decodeIfPresent(String.self, forKey: .encoding)
        comment = try values.decodeIfPresent(String.self, forKey: .comment)
    }
}
