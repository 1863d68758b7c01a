"""The far end of a serial console: says a line again and again to whoever listens."""

from tests.contract.one_by_one import OneByOne

LINE = b"Rackwright speaks on the serial console\r\n"


class SerialPort(OneByOne):
    def talk(self, client):
        while not self.closing.wait(0.2):
            client.sendall(LINE)
