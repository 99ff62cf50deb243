import Testing

import OutletTransport

@Suite struct `A FIFO` {
    @Test func `keeps its order while elements are removed`() {
        var fifo = Fifo<Int>()
        var taken: [Int] = []
        for number in 0..<1000 {
            fifo.append(number)
            if number % 3 == 2, let first = fifo.popFirst() { taken.append(first) }
            #expect(fifo.count == number + 1 - taken.count)
        }
        #expect(fifo.all == Array(taken.count..<1000))
        while let first = fifo.popFirst() { taken.append(first) }
        #expect(taken == Array(0..<1000))
        #expect(fifo.isEmpty)
    }

    @Test func `keeps a first element that is not wanted`() {
        var fifo = Fifo<Int>()
        for number in 1...3 { fifo.append(number) }
        let taken = [
            fifo.popFirst(), fifo.popFirst { $0 != 2 }, fifo.popFirst { $0 == 2 },
            fifo.popFirst { $0 == 2 },
        ]
        #expect(taken == [1, nil, 2, nil])
        #expect(fifo.count == 1)
    }

    @Test func `holds no element that was removed`() {
        final class Value {}
        var fifo = Fifo<Value>()
        weak var removed: Value?
        for _ in 0..<3 { fifo.append(Value()) }
        do {
            let first = fifo.popFirst()
            removed = first
            #expect(removed != nil)
        }
        #expect(removed == nil)
        #expect(fifo.count == 2)
    }
}
