public import FoundationEssentials
import OutletHTTP

extension DownloadRequest {
    /// Returns a destination in one of the user's directories, under the name that the server
    /// suggests.
    ///
    /// Without such a directory, the file stays in the temporary directory.
    ///
    /// - Parameters:
    ///   - directory: The directory, as in the XDG user directories; the documents by default.
    ///   - domain: The domain in which the directory is looked up.
    ///   - options: How the file is moved; by default, an existing file is an error.
    public static func suggestedDownloadDestination(
        for directory: FileManager.SearchPathDirectory = .documentDirectory,
        in domain: FileManager.SearchPathDomainMask = .userDomainMask,
        options: Options = []
    ) -> Destination {
        { temporaryURL, response in
            let directories = FileManager.default.urls(for: directory, in: domain)
            guard let first = directories.first else { return (temporaryURL, options) }
            return (first.appending(path: response.suggestedFilename), options)
        }
    }

    /// Returns a destination in a directory, under the name that the server suggests.
    ///
    /// - Parameters:
    ///   - directory: The directory; no suggested name leads outside of it.
    ///   - options: How the file is moved; by default, a missing directory or an existing file is
    ///     an error.
    public static func suggestedDownloadDestination(
        in directory: URL, options: Options = []
    ) -> Destination {
        { _, response in (directory.appending(path: response.suggestedFilename), options) }
    }
}
