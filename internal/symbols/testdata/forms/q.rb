module Net
  class HTTP < Base
    attr_reader :x
    def self.get(url, a = {}) 
      if url then 1 end
    end
    def ok?; @ok; end
    def value=(x)
      @x = x
    end
    def sq(x) = x * x
    private
    def helper!
      text = <<~EOS
        def fake
      EOS
      x.each do |y|
        puts y
      end
    end
  end
end
class A::B; end
def top
end
