import FoundationEssentials
import OutletTransport

/// What the format leaves to the writer, or what writers leave out nevertheless.
extension HAR.PostData {
    /// Reads a body; without a text it is empty.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            mimeType: try values.decodeIfPresent(String.self, forKey: .mimeType) ?? "",
            text: try values.decodeIfPresent(String.self, forKey: .text) ?? "",
            encoding: try values.decodeIfPresent(String.self, forKey: .encoding))
        // Parameters with a file have no value; the text says it all anyhow.
        params = (try? values.decode([HAR.Pair].self, forKey: .params)) ?? []
        comment = try values.decodeIfPresent(String.self, forKey: .comment)
    }
}

extension HAR.Timings {
    /// Reads timings; -1 for what is not there.
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
    /// Reads a body; its length is that of the text where it is not told.
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
