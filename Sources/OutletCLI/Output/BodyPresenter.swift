import FoundationEssentials
import Outlet

/// Puts a response's body where it belongs, while it arrives.
struct BodyPresenter {
    private enum Way {
        /// Read, and not shown.
        case discarded
        /// As it came.
        case raw
        case file(BodySink)
        /// JSON laid out for people.
        case json(JSONReformatter)
        /// Text that was to be JSON and is not, or text for a terminal.
        case text(TerminalText)
        /// For a terminal; the first piece decides whether it is text.
        case undecided
        /// Not written to a terminal; a line at the end gives its size.
        case binary
        case spooled(BodySpool)
    }

    /// How many bytes have come.
    private(set) var count: Int64 = 0
    /// Why the body is not the JSON that it claims to be.
    private(set) var jsonFault: JSONSyntaxError?

    private var way: Way
    private let output: OutputFile
    private let isTerminal: Bool
    private let progress: ProgressReporter?
    /// Whether what stands on stdout ends with a line's end.
    private var endsLine = true

    private init(_ way: Way, _ console: Console, progress: ProgressReporter? = nil) {
        self.way = way
        self.progress = progress
        output = console.output
        isTerminal = console.outputIsTerminal
    }

    /// Shows nothing.
    static func discarding(_ console: Console) -> BodyPresenter {
        BodyPresenter(.discarded, console)
    }

    /// Writes into a file.
    static func saving(_ sink: BodySink, _ console: Console) -> BodyPresenter {
        BodyPresenter(.file(sink), console)
    }

    /// Keeps the body for a report.
    static func spooling(_ spool: BodySpool, _ console: Console) -> BodyPresenter {
        BodyPresenter(.spooled(spool), console)
    }

    /// Shows the body on stdout.
    ///
    /// - Parameter progress: Ends where the body begins on the same terminal.
    static func showing(
        claimsJSON: Bool, _ options: OutputOptions, _ console: Console,
        progress: ProgressReporter? = nil
    ) -> BodyPresenter {
        let way: Way =
            if claimsJSON, options.formats {
                .json(.pretty(options.style))
            } else {
                console.outputIsTerminal ? .undecided : .raw
            }
        return BodyPresenter(way, console, progress: progress)
    }

    /// Takes a piece.
    mutating func append(_ piece: Data) throws(OutputError) {
        guard !piece.isEmpty else { return }
        if case .undecided = way {
            way = BodyText.isText(prefix: piece) ? .text(TerminalText()) : .binary
        }
        count += Int64(piece.count)
        var shown: [UInt8] = []
        switch way {
        case .discarded, .binary, .undecided: return
        case .raw:
            endsLine = piece.last == 0x0A
            return try output.write(piece)
        case .file(let sink): return try sink.write(piece)
        case .spooled(var spool):
            way = .discarded
            defer { way = .spooled(spool) }
            return try spool.append(piece)
        case .text(var text):
            piece.withUnsafeBytes { text.append($0, to: &shown) }
            way = .text(text)
        case .json(var json):
            do {
                try json.append(piece, to: &shown)
                way = .json(json)
            } catch {
                give(up: json, rest: piece.suffix(json.unread), because: error, to: &shown)
            }
        }
        try write(shown)
    }

    /// Takes the end of the body.
    ///
    /// - Parameters:
    ///   - isComplete: Whether the response has ended as it should.
    ///   - endsLine: Whether stdout is to end with a line's end.
    mutating func finish(isComplete: Bool, endsLine wanted: Bool) throws(OutputError) {
        var shown: [UInt8] = []
        switch way {
        case .text(var text): text.finish(to: &shown)
        case .binary:
            shown += "(\(Quantity.bytes(count)) of binary data: -o FILE saves it)\n".utf8
        case .json(var json) where count > 0:
            do {
                try json.finish()
                shown.append(0x0A)
            } catch {
                shown += visible(json.held)
                if isComplete { jsonFault = error }
            }
        case .spooled(var spool):
            try spool.finish()
            if isComplete { jsonFault = spool.jsonFault }
            way = .spooled(spool)
        case .discarded, .raw, .file, .json, .undecided: break
        }
        try write(shown)
        if wanted, !endsLine { try write([0x0A]) }
    }

    /// The body that was kept for a report.
    var spool: BodySpool? {
        guard case .spooled(let spool) = way else { return nil }
        return spool
    }

    /// A text's last bytes, with nothing in them that a terminal would obey if there is one.
    private func visible(_ bytes: [UInt8]) -> [UInt8] {
        guard isTerminal else { return bytes }
        var text = TerminalText()
        var shown: [UInt8] = []
        bytes.withUnsafeBytes { text.append($0, to: &shown) }
        text.finish(to: &shown)
        return shown
    }

    /// Goes on as text with what was to be JSON.
    private mutating func give(
        up json: JSONReformatter, rest: Data, because fault: JSONSyntaxError,
        to shown: inout [UInt8]
    ) {
        jsonFault = fault
        let text = Data(json.held) + rest
        guard isTerminal else {
            shown += text
            way = .raw
            return
        }
        var visible = TerminalText()
        text.withUnsafeBytes { visible.append($0, to: &shown) }
        way = .text(visible)
    }

    private mutating func write(_ bytes: [UInt8]) throws(OutputError) {
        guard let last = bytes.last else { return }
        if isTerminal { progress?.stop() }
        endsLine = last == 0x0A
        try output.write(Data(bytes))
    }
}
