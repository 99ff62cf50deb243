import FoundationEssentials
import Outlet

/// Prints, saves or stores a response's body while it arrives.
struct BodyPresenter {
    private enum Way {
        /// The body is read but not shown.
        case discarded
        /// The body is written unchanged.
        case raw
        case file(BodySink)
        /// The body is indented JSON.
        case json(JSONReformatter)
        /// The body is text for a terminal, which may be invalid JSON.
        case text(TerminalText)
        /// The body is for a terminal; its first piece decides whether it is text.
        case undecided
        /// The body is not text; a terminal gets a line with its size instead.
        case binary
        case spooled(BodySpool)
    }

    /// The number of bytes received.
    private(set) var count: Int64 = 0
    /// Why a body that claims to be JSON is invalid; `nil` if it is valid or claims nothing.
    private(set) var jsonFault: JSONSyntaxError?

    private var way: Way
    private let output: OutputFile
    private let isTerminal: Bool
    private let progress: ProgressReporter?
    /// Whether the output so far ends with a line break.
    private var endsLine = true

    private init(_ way: Way, _ console: Console, progress: ProgressReporter? = nil) {
        self.way = way
        self.progress = progress
        output = console.output
        isTerminal = console.outputIsTerminal
    }

    /// Makes a presenter that drops the body.
    static func discarding(_ console: Console) -> BodyPresenter {
        BodyPresenter(.discarded, console)
    }

    /// Makes a presenter that writes the body to a file.
    static func saving(_ sink: BodySink, _ console: Console) -> BodyPresenter {
        BodyPresenter(.file(sink), console)
    }

    /// Makes a presenter that stores the body for a report.
    static func spooling(_ spool: BodySpool, _ console: Console) -> BodyPresenter {
        BodyPresenter(.spooled(spool), console)
    }

    /// Makes a presenter that prints the body to stdout.
    ///
    /// - Parameters:
    ///   - claimsJSON: Whether the content type is JSON.
    ///   - options: How to print the body.
    ///   - console: The program's streams.
    ///   - progress: Stopped when the body begins, if stdout is a terminal.
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

    /// Handles the next piece of the body.
    ///
    /// - Throws: ``OutputError`` if it cannot be written.
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

    /// Handles the end of the body.
    ///
    /// - Parameters:
    ///   - isComplete: Whether the response is complete.
    ///   - wanted: Whether to add a line break if the output does not end with one.
    /// - Throws: ``OutputError`` if the rest cannot be written.
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

    /// The stored body; `nil` if it was not stored for a report.
    var spool: BodySpool? {
        guard case .spooled(let spool) = way else { return nil }
        return spool
    }

    /// Returns the last bytes of a text, without control sequences if stdout is a terminal.
    private func visible(_ bytes: [UInt8]) -> [UInt8] {
        guard isTerminal else { return bytes }
        var text = TerminalText()
        var shown: [UInt8] = []
        bytes.withUnsafeBytes { text.append($0, to: &shown) }
        text.finish(to: &shown)
        return shown
    }

    /// Continues with text after a JSON body turned out to be invalid.
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
